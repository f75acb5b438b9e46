//! XML documents as values, and values as XML (SCN-20). Must never follow what a document refers to: there are no entities
//! but the five of XML itself, and no document type.

mod characters;
mod charset;
mod mapping;
mod read;
mod soap;
mod template;
mod write;

#[cfg(test)]
mod tests;

pub use characters::is_name;
pub use charset::decode;
pub use mapping::Namespaces;
pub(crate) use mapping::{LONGEST_PREFIX, MOST_NAMESPACES, TEXT, is_same_name};
pub use read::{NoXml, is_xml_type, read};
pub use soap::{Soap, SoapAnswer, SoapFault, SoapVersion, fault_of, read_answer};
pub use template::{XmlShape, XmlTemplate};
pub(crate) use write::escape_attribute;
