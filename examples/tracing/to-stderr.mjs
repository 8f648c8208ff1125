// Prints every span that ends as a line of JSON on standard error:
//   NODE_OPTIONS="--import $PWD/examples/tracing/to-stderr.mjs" npm start
import { registerTracer } from './provider.mjs';

registerTracer((span) => process.stderr.write(`${JSON.stringify(span)}\n`));
