from scenarios.lending import catalogue as catalogue
