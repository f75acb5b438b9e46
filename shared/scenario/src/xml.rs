//! XML documents as values, and values as XML (SCN-20). Must never follow what a document refers to: there are no entities
//! but the five of XML itself, and no document type. Knows no scenario: [`markup`](super::markup) has what those write.

mod characters;
mod charset;
mod mapping;
mod read;
mod soap;
mod version;
mod write;

#[cfg(test)]
mod tests;

pub use characters::is_name;
pub(crate) use characters::{is_legal, is_space};
pub use charset::decode;
pub use mapping::Namespaces;
pub(crate) use mapping::{LONGEST_PREFIX, MOST_NAMESPACES, TEXT, is_same_name};
pub use read::{NoXml, is_xml_type, read};
pub use soap::{SoapAnswer, SoapFault, fault_of, read_answer};
pub use version::SoapVersion;
pub(crate) use write::{attribute as write_attribute, content as write_content, escape_attribute, scalar};
