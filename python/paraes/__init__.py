"""paraes: AES as fast as the hardware allows. `paraes.lab` runs benchmarks and analyses them."""
