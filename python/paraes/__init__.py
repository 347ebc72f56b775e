"""paraes: AES as fast as the hardware allows. `paraes.lab` measures, analyses and reports."""
