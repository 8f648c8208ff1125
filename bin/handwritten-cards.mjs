#!/usr/bin/env node
// `npx --no-install handwritten-cards …` in the checkout: the command line, installed and built first if it has to be.
process.argv.splice(2, 0, 'cli');
await import('./run.mjs');
