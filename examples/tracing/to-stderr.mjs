// Prints every span that ends as a line of JSON on standard error. Start the service with this file as
// `--import` in NODE_OPTIONS.
import { registerTracer } from './provider.mjs';

registerTracer((span) => process.stderr.write(`${JSON.stringify(span)}\n`));
