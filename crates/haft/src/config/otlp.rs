//! `[otlp]`: where traces go.

use std::collections::BTreeMap;

use anyhow::anyhow;
use haft_server::traces::Collector;
use serde::Deserialize;

/// As it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Otlp {
    endpoint: Option<String>,
    sample: Option<f64>,
    service: Option<String>,
    /// Header, and the environment variable that holds its value.
    headers: BTreeMap<String, String>,
}

impl Otlp {
    /// The collector; none where neither the file nor OpenTelemetry's own variable names one.
    pub(crate) fn collector(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Option<Collector>> {
        let named = || variable("OTEL_EXPORTER_OTLP_ENDPOINT").filter(|text| !text.is_empty());
        let Some(endpoint) = self.endpoint.clone().or_else(named) else { return Ok(None) };
        let mut headers = Vec::new();
        for (name, from) in &self.headers {
            let value = held(&variable, from).ok_or_else(|| anyhow!(unset(name, from)))?;
            headers.push((name.clone(), value));
        }
        let service = self.service.clone().or_else(|| variable("OTEL_SERVICE_NAME"));
        Ok(Some(Collector {
            endpoint,
            headers,
            sample: self.sample.unwrap_or(1.0),
            service: service.unwrap_or_else(|| "haft".to_owned()),
        }))
    }

    /// Everything that makes no sense, and every variable that is not set here: those may be where the
    /// server runs.
    pub(crate) fn faults(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Vec<String>, Vec<String>) {
        let named = || held(&variable, "OTEL_EXPORTER_OTLP_ENDPOINT");
        let endpoint = self.endpoint.clone().or_else(named);
        let missing = self.headers.iter().filter(|(_, from)| held(&variable, from).is_none());
        let missing = missing.filter(|_| endpoint.is_some());
        let missing = missing.map(|(name, from)| unset(name, from)).collect();
        // What stands here is wrong or right wherever the rest of it is.
        let value = |from: &String| held(&variable, from).unwrap_or_else(|| "-".to_owned());
        let collector = Collector {
            endpoint: endpoint.unwrap_or_else(|| "http://localhost".to_owned()),
            headers: self.headers.iter().map(|(name, from)| (name.clone(), value(from))).collect(),
            sample: self.sample.unwrap_or(1.0),
            service: String::new(),
        };
        (collector.faults(), missing)
    }
}

/// What a variable holds.
fn held(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn unset(header: &str, variable: &str) -> String {
    format!("`otlp.headers.{header}`: set the environment variable `{variable}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Option<Collector>> {
        let otlp: Otlp = toml::from_str(text).unwrap();
        otlp.collector(|name| (name == "KEY").then(|| " s3cret\n".to_owned()))
    }

    #[test]
    fn values_of_headers_come_from_the_environment() {
        assert_eq!(read("").unwrap(), None);
        let found = read("endpoint = 'http://x'\nheaders = {authorization = 'KEY'}").unwrap();
        let found = found.unwrap();
        assert_eq!(found.headers, [("authorization".to_owned(), "s3cret".to_owned())]);
        assert_eq!((found.sample, found.service.as_str()), (1.0, "haft"));
        let missing = read("endpoint = 'http://x'\nheaders = {authorization = 'NOPE'}");
        assert!(missing.unwrap_err().to_string().contains("environment variable `NOPE`"));
    }
}
