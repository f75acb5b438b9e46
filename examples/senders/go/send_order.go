// Registers an order over HTTP and waits for its end, by a client that a generator made of the OpenAPI document.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"

	"example.org/send-order/pagurus"
)

const patience = 30 * time.Second

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: send-order ID SCENARIO")
		os.Exit(2)
	}
	if err := send(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func send(id, scenario string) error {
	context, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	orders := client().OrdersAPI
	order := pagurus.NewOrderBody(id, scenario)
	order.SetParams(map[string]interface{}{"msisdn": "79110000001"})
	// The ID makes it safe to send the order again: it is registered once.
	registered, err := again(context, func() (*pagurus.RegistrationAnswer, *http.Response, error) {
		return orders.PostOrders(context).OrderBody(*order).Execute()
	})
	if err != nil {
		return err
	}
	fmt.Println("registered:", registered.RegisteredView.GetStatus())
	for {
		order, err := again(context, func() (*pagurus.StatusView, *http.Response, error) {
			return orders.GetOrdersIdWait(context, id).Timeout("10s").Execute()
		})
		if err != nil {
			return err
		}
		if order.GetFinal() {
			fmt.Println("ended:", order.GetStatus())
			return nil
		}
	}
}

func client() *pagurus.APIClient {
	settings := pagurus.NewConfiguration()
	server := os.Getenv("PAGURUS_SERVER")
	if server == "" {
		server = "http://127.0.0.1:8080"
	}
	settings.Servers = pagurus.ServerConfigurations{{URL: server}}
	if token := os.Getenv("PAGURUS_TOKEN"); token != "" {
		settings.AddDefaultHeader("Authorization", "Bearer "+token)
	}
	return pagurus.NewAPIClient(settings)
}

// again sends a request until the engine has taken or refused it, or the context is over. It waits as long as `Retry-After` says, or twice
// as long each time.
func again[T any](context context.Context, request func() (T, *http.Response, error)) (T, error) {
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		got, answer, err := request()
		if err == nil || (answer != nil && answer.StatusCode != 429 && answer.StatusCode < 500) {
			return got, err
		}
		wait := pause/2 + time.Duration(rand.Int63n(int64(pause)))
		if answer != nil {
			if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(seconds) * time.Second
			}
		}
		select {
		case <-context.Done():
			return got, err
		case <-time.After(wait):
		}
	}
}
