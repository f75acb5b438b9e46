import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.OrdersApi;
import org.openapitools.client.model.OrderBody;

/** Registers an order over HTTP and waits for its end, by a client that a generator made of the OpenAPI document. */
public final class SendOrder {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: SendOrder ID SCENARIO");
            System.exit(2);
        }
        var id = arguments[0];
        var orders = new OrdersApi(client());
        var order = new OrderBody().id(id).scenario(arguments[1]).params(Map.of("msisdn", "79110000001"));
        var deadline = Instant.now().plus(PATIENCE);
        // The ID makes it safe to send the order again: it is registered once.
        var registered = again(deadline, () -> orders.postOrders(order, null, null, null, null));
        System.out.println("registered: " + registered.getRegisteredView().getStatus());
        while (true) {
            var state = again(deadline, () -> orders.getOrdersIdWait(id, "10s"));
            if (state.getFinal()) {
                System.out.println("ended: " + state.getStatus());
                return;
            }
        }
    }

    private static ApiClient client() {
        var client = new ApiClient();
        client.updateBaseUri(System.getenv().getOrDefault("PAGURUS_SERVER", "http://127.0.0.1:8080"));
        var token = System.getenv("PAGURUS_TOKEN");
        if (token != null) {
            client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
        }
        return client;
    }

    private interface Request<T> {
        T send() throws ApiException;
    }

    /**
     * Sends a request until the engine has taken or refused it, or the deadline is over. It waits as long as `Retry-After` says, or twice as
     * long each time.
     */
    private static <T> T again(Instant deadline, Request<T> request) throws ApiException, InterruptedException {
        for (var pause = 100L; ; pause *= 2) {
            try {
                return request.send();
            } catch (ApiException failure) {
                // 0: no answer came.
                var status = failure.getCode();
                var isTemporary = status == 0 || status == 429 || status >= 500;
                if (!isTemporary || Instant.now().isAfter(deadline)) {
                    throw failure;
                }
                Thread.sleep(waitFor(failure, pause));
            }
        }
    }

    private static long waitFor(ApiException failure, long pause) {
        var headers = failure.getResponseHeaders();
        var after = headers == null ? null : headers.firstValue("Retry-After").orElse(null);
        return after == null ? pause / 2 + ThreadLocalRandom.current().nextLong(pause) : 1000 * Long.parseLong(after);
    }
}
