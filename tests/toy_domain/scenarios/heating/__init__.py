from scenarios.heating import catalogue as catalogue
