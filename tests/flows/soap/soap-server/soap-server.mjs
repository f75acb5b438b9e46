// A SOAP server of prices for tests, at /v11 for SOAP 1.1 and at /v12 for SOAP 1.2. Prints its address when it listens. It
// refuses the article `none` by a fault of the caller, and has a fault of its own at the first call for `later`.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import soap from "soap";

const wsdl = readFileSync(new URL("prices.wsdl", import.meta.url), "utf8");

function fault(version, mine, reason, detail) {
  if (version === "v11") {
    return { Fault: { faultcode: mine ? "soap:Server" : "soap:Client.Article", faultstring: reason, detail } };
  }
  const code = mine ? { Value: "soap:Receiver" } : { Value: "soap:Sender", Subcode: { Value: "p:Article" } };
  return { Fault: { Code: code, Reason: { Text: reason }, Detail: detail, statusCode: mine ? 500 : 400 } };
}

function serviceOf(version) {
  const asked = new Set();
  const GetPrice = (body, _done, header, request) => {
    const skus = [body.sku].flat();
    if (skus.includes("none")) throw fault(version, false, "there is no article none", { article: "none" });
    if (skus.includes("later") && !asked.has("later")) {
      asked.add("later");
      throw fault(version, true, "the list of prices is locked", { seconds: 1 });
    }
    const kind = request.headers["content-type"];
    const action = version === "v11" ? request.headers.soapaction : (/action="([^"]*)"/.exec(kind)?.[1] ?? "");
    const line = skus.map((sku, at) => ({ attributes: { currency: "EUR" }, sku, amount: `${at + 1}.10` }));
    return { line, note: body.note ?? "", action, user: header?.Security?.Username ?? "" };
  };
  return { Prices: { PricesPort: { GetPrice } } };
}

const server = createServer((_, response) => response.writeHead(404).end());
server.listen(0, "127.0.0.1", () => {
  for (const version of ["v11", "v12"]) {
    const options = { path: `/${version}`, services: serviceOf(version), xml: wsdl, forceSoap12Headers: version === "v12" };
    soap.listen(server, options);
  }
  console.log(`http://127.0.0.1:${server.address().port}`);
});
