"""Scenarios of the telecom support domain: composed tasks, two policy variants, two rule profiles."""

from scenarios.tau2_telecom import catalogue as catalogue
