module example.org/send-order

go 1.19
