// A certified OpenID Connect provider for tests. Arguments: redirect address of the one client, and its address for back-channel
// logout. Prints its issuer when it listens. Any name signs in with any password, by the pages of the library for development.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [redirect, logout] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const configuration = {
  clients: [
    {
      client_id: "pagurus",
      client_secret: "secret-of-the-client",
      redirect_uris: [redirect],
      backchannel_logout_uri: logout,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  cookies: { keys: ["key-of-cookies"] },
  features: { backchannelLogout: { enabled: true } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}@shop`, groups: ["operators", "night"] }),
  }),
  jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "of-tests", alg: "RS256", use: "sig" }] },
  pkce: { required: () => true },
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", new Provider(issuer, configuration).callback());
  console.log(issuer);
});
