//! Versions of SOAP.

use pagurus_domain::id::spelled;

/// Version of SOAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoapVersion {
    /// SOAP 1.1.
    V11,
    /// SOAP 1.2.
    V12,
}

spelled!(SoapVersion { V11 => "1.1", V12 => "1.2" });

impl SoapVersion {
    /// The namespace of its envelopes.
    pub(super) const fn namespace(self) -> &'static str {
        match self {
            Self::V11 => "http://schemas.xmlsoap.org/soap/envelope/",
            Self::V12 => "http://www.w3.org/2003/05/soap-envelope",
        }
    }

    /// The version whose envelopes have this namespace.
    pub(super) fn of_namespace(uri: &str) -> Option<Self> {
        [Self::V11, Self::V12].into_iter().find(|version| version.namespace() == uri)
    }
}
