module example.org/paraes

go 1.18
