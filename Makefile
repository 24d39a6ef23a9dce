# pi-relay. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

.PHONY: help setup build test lint format

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@scripts/setup

build: setup ## build everything, optimised
	swift build -c release

test: setup ## set up and run every test
	swift test

lint: ## check formatting
	swift format lint --strict -r --parallel Sources Tests Package.swift

format: ## apply formatting
	swift format -ipr Sources Tests Package.swift
