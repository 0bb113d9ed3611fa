# cargo xtask release adds the version to this file's name, and puts the sources and the list of crates next to it.
SUMMARY = "CAN gateway with measured, reproducible latency"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-MIT;md5=ceeaad4ddd350c0c4ca7d01395ea4a45 \
    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57 \
"

SRC_URI = "file://candor-${PV}.tar.gz"
require candor-crates.inc
S = "${UNPACKDIR}/candor-${PV}"

inherit cargo systemd useradd

CARGO_SRC_DIR = "crates/candor"

# An instance for each gateway file: systemctl enable candor@NAME.
SYSTEMD_SERVICE:${PN} = "candor@.service"
SYSTEMD_AUTO_ENABLE = "disable"

USERADD_PACKAGES = "${PN}"
USERADD_PARAM:${PN} = "--system --no-create-home --shell /sbin/nologin candor"

do_install:append() {
    install -Dm 644 ${S}/packaging/systemd/candor@.service ${D}${systemd_system_unitdir}/candor@.service
    install -Dm 644 ${S}/packaging/modules-load.d/candor.conf ${D}${nonarch_libdir}/modules-load.d/candor.conf
    install -Dm 644 ${S}/examples/01-forward.toml ${D}${sysconfdir}/candor/example.toml
}

FILES:${PN} += "${systemd_system_unitdir} ${nonarch_libdir}/modules-load.d"
CONFFILES:${PN} = "${sysconfdir}/candor/example.toml"
RRECOMMENDS:${PN} = "kernel-module-can-raw kernel-module-can-gw"
