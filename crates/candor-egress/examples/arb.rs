use candor_egress::kernel::arbitration::*;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let replace = std::env::args().any(|a| a == "replace");
    let socket = std::env::args().any(|a| a == "socket").then_some(5);
    let age = std::env::args().any(|a| a == "age").then_some(1_000_000_000);
    let layout = match layout() { Ok(l) => l, Err(e) => { println!("{e}"); return } };
    println!("{layout:?}");
    let index = std::fs::read_to_string(format!("/sys/class/net/{name}/ifindex")).unwrap();
    let options = candor_bpf::queue::Options { limit: 100, limit_per_socket: socket, max_age_ns: age, replace_same_id: replace };
    let mut client = candor_netlink::client::Client::open().unwrap();
    match install(&mut client, candor_io::can::InterfaceIndex::new(index.trim().parse().unwrap()).unwrap(), &options, &layout) {
        Ok(i) => println!("{:?}", i.statistics()),
        Err(InstallError::Program { program, errno, log }) => println!("{program}: {errno}\n{log}"),
        Err(e) => println!("{e}"),
    }
}
