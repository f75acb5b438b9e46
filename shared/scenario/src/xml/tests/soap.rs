//! Envelopes and faults of both versions.

use super::*;

const V11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const V12: &str = "http://www.w3.org/2003/05/soap-envelope";

fn answer(text: &str) -> SoapAnswer {
    read_answer(text, &Namespaces::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn scn_20_the_content_of_an_envelope_is_the_body() {
    for uri in [V11, V12] {
        let text = format!(
            "<?xml version='1.0'?><s:Envelope xmlns:s='{uri}'><s:Header><t:Id xmlns:t='urn:t' s:mustUnderstand='1'>7</t:Id></s:Header>\
             <s:Body s:encodingStyle='x'><p:Price xmlns:p='urn:p'><p:Amount>1.10</p:Amount></p:Price></s:Body></s:Envelope>"
        );
        let read = answer(&text);
        assert_eq!(read.body, json!({"Price": {"Amount": "1.10"}}));
        assert_eq!(read.header, Some(json!({"Id": "7"})));
        assert_eq!(read.fault, None);
        let read = read_answer(&text, &namespaces(&[("x", "urn:p")])).unwrap();
        assert_eq!(read.body, json!({"x:Price": {"x:Amount": "1.10"}}));
    }
    let empty = answer(&format!("<Envelope xmlns='{V11}'><Body/></Envelope>"));
    assert_eq!((empty.body, empty.header), (json!(""), None));
    for text in [
        "<Envelope><Body/></Envelope>".to_owned(),
        format!("<Envelope xmlns='{V11}'/>"),
        format!("<s:Envelope xmlns:s='{V11}'><Body/></s:Envelope>"),
        format!("<a xmlns:s='{V11}'><s:Body/></a>"),
        "<html/>".to_owned(),
        "{}".to_owned(),
    ] {
        assert!(read_answer(&text, &Namespaces::default()).is_err(), "{text}");
    }
}

#[test]
fn scn_20_faults_of_both_versions_are_read_alike() {
    let v11 = format!(
        "<s:Envelope xmlns:s='{V11}'><s:Body><s:Fault><faultcode>s:Client.Limit</faultcode>\
         <faultstring xml:lang='en'> too much </faultstring><faultactor>urn:bank</faultactor>\
         <detail><e:Limit xmlns:e='urn:e'><e:max>10</e:max></e:Limit></detail></s:Fault></s:Body></s:Envelope>"
    );
    let fault = fault_of(&v11).unwrap();
    assert_eq!(
        fault.value(),
        json!({"code": "Client.Limit", "subcodes": [], "reason": "too much", "role": "urn:bank", "detail": {"Limit": {"max": "10"}}})
    );
    assert_eq!(fault.text(), "Client.Limit\ntoo much\nurn:bank\n{\"Limit\":{\"max\":\"10\"}}");
    let v12 = format!(
        "<s:Envelope xmlns:s='{V12}'><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode>\
         <s:Value xmlns:m='urn:m'>m:Limit</s:Value><s:Subcode><s:Value>m:Day</s:Value></s:Subcode></s:Subcode></s:Code>\
         <s:Reason><s:Text xml:lang='de'>zu viel</s:Text><s:Text xml:lang='en-GB'>too much</s:Text></s:Reason>\
         <s:Role>urn:bank</s:Role><s:Detail><max>10</max></s:Detail></s:Fault></s:Body></s:Envelope>"
    );
    let expected = json!({"code": "Sender", "subcodes": ["Limit", "Day"], "reason": "too much", "role": "urn:bank", "detail": {"max": "10"}});
    assert_eq!(fault_of(&v12).unwrap().value(), expected);
    // The prefix that an action gives the namespace of SOAP changes nothing.
    let declared = namespaces(&[("soap", V12)]);
    let read = read_answer(&v12, &declared).unwrap();
    assert_eq!(read.fault.unwrap().value()["code"], "Sender");
    assert!(read.body.get("soap:Fault").is_some());
    for text in ["{\"Fault\": 1}", "<Fault/>", "", "<a>Fault</a>"] {
        assert_eq!(fault_of(text), None, "{text}");
    }
    // An element of that name that is not the fault of SOAP.
    let other = format!(
        "<s:Envelope xmlns:s='{V11}'><s:Body><Fault><faultcode>x</faultcode></Fault></s:Body></s:Envelope>"
    );
    assert_eq!(fault_of(&other), None);
}

#[test]
fn scn_20_what_is_sent_is_an_envelope_that_comes_back() {
    let declared = namespaces(&[("o", "urn:a&b")]);
    for version in [SoapVersion::V11, SoapVersion::V12] {
        let text = version.envelope(Some("<o:h>1</o:h>"), "<o:b>2</o:b>", &declared);
        let read = read_answer(&text, &namespaces(&[])).unwrap();
        assert_eq!((read.header, read.body), (Some(json!({"h": "1"})), json!({"b": "2"})), "{text}");
        assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"));
        assert!(!version.envelope(None, "", &declared).contains("Header"));
    }
}
