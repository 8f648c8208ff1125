import { spawnSync } from 'node:child_process';
import { describe } from 'mocha';
import { marker } from '../runner/engines.js';

/** Prometheus's program for checking rules: the one in PROMTOOL, else on the PATH. */
export const promtool = process.env['PROMTOOL'] ?? 'promtool';

/** A suite that needs promtool, skipped if there is none. */
export const describeWithPromtool = (title: string, body: () => void): void => {
  if (spawnSync(promtool, ['--version']).status === 0) describe(title, body);
  else describe.skip(`${title} ${marker(['PROMTOOL'])}`, body);
};
