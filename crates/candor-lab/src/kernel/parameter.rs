use std::str::FromStr;

use super::modules::plain;

/// Parameter of a module, as on the kernel's command line: `can_gw.max_hops=6`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParameter {
    pub module: String,
    pub setting: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a module parameter is written MODULE.NAME=VALUE, as in can_gw.max_hops=6, without spaces and quotes")]
pub struct BadParameter;

impl FromStr for ModuleParameter {
    type Err = BadParameter;

    fn from_str(text: &str) -> Result<Self, BadParameter> {
        let (left, value) = text.split_once('=').ok_or(BadParameter)?;
        let (module, name) = left.split_once('.').ok_or(BadParameter)?;
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        // The kernel splits parameters at spaces outside quotes.
        let is_value = value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        if !is_name(module) || !is_name(name) || !is_value {
            return Err(BadParameter);
        }
        Ok(Self { module: plain(module), setting: format!("{name}={value}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_as_for_the_kernel() {
        let parameter: ModuleParameter = "can-gw.max_hops=6".parse().unwrap();
        assert_eq!((parameter.module.as_str(), parameter.setting.as_str()), ("can_gw", "max_hops=6"));
        let empty: ModuleParameter = "vcan.echo=".parse().unwrap();
        assert_eq!(empty.setting, "echo=");
        let list: ModuleParameter = "slcan.maxdev=1,2.5".parse().unwrap();
        assert_eq!(list.setting, "maxdev=1,2.5");
        for text in [
            "",
            "can_gw",
            "can_gw.max_hops",
            "max_hops=6",
            ".max_hops=6",
            "can_gw.=6",
            "a.b=1 2",
            "a.b=\"1\"",
            "../a.b=1",
        ] {
            assert_eq!(text.parse::<ModuleParameter>(), Err(BadParameter), "{text}");
        }
    }
}
