import { register } from 'node:module';

/**
 * Starts the service without a part of it, so that the part's cost can be measured: `node --import` this,
 * with the names of parts in BENCH_WITHOUT. No setting of the service can do that.
 */
register('./hooks.js', import.meta.url);
