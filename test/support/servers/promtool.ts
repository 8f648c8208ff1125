import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'mocha';
import { marker } from '../runner/engines.js';
import { root } from '../runner/repository.js';

/** Prometheus's program for checking rules: the one in PROMTOOL, else on the PATH. */
export const promtool = process.env['PROMTOOL'] ?? 'promtool';

/** A suite that needs promtool, skipped if there is none. */
export const describeWithPromtool = (title: string, body: () => void): void => {
  if (spawnSync(promtool, ['--version']).status === 0) describe(title, body);
  else describe.skip(`${title} ${marker(['PROMTOOL'])}`, body);
};

/** What a process shows at a moment; `text` is null if it can't be reached. */
export interface Scrape {
  readonly instance: string;
  readonly text: string | null;
}

type Samples = ReadonlyMap<string, number>;

const samplesOf = ({ instance, text }: Scrape): Samples => {
  const lines = (text ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const samples = lines.map((line): readonly [string, number] => {
    const [, name = '', labels = '', value = ''] = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return [`${name}{${labels}${labels === '' ? '' : ','}instance="${instance}",job="cards"}`, Number(value)];
  });
  return new Map([[`up{instance="${instance}",job="cards"}`, Number(text !== null)], ...samples]);
};

/** Gauges that say how long something has waited. */
const isAge = (series: string): boolean => /^[a-z_]+_(lag|age|oldest|oldest_due)_seconds\{/.test(series);

const evaluatedAfter = '15m';

/**
 * The pages that go out a quarter of an hour later if everything stays as it is in the later of two scrapes,
 * and ages that have grown since the earlier one grow on. Each is the alert's name and what it is about, such
 * as `RoleMissing relay`.
 */
export const alertsAfter = async (
  earlier: readonly Scrape[],
  later: readonly Scrape[],
): Promise<readonly string[]> => {
  const rules = join(root, 'docs/operations/alerts.yml');
  const text = readFileSync(rules, 'utf8');
  const before = new Map(earlier.flatMap((scrape) => [...samplesOf(scrape)]));
  const now = [...new Map(later.flatMap((scrape) => [...samplesOf(scrape)]))];
  const series = now
    .filter(([name]) => text.includes(name.split('{')[0] ?? ''))
    .map(([name, value]) => ({
      series: name,
      values: isAge(name) && value > (before.get(name) ?? value) ? `${value}+15x60` : `${value}x60`,
    }));
  const directory = mkdtempSync(join(tmpdir(), 'cards-alerts-'));
  try {
    const path = join(directory, 'alerts.json');
    const test = {
      interval: '15s',
      input_series: series,
      // Nothing is expected, so that promtool shows whatever fires.
      promql_expr_test: [
        { expr: 'ALERTS{alertstate="firing",severity="page"}', eval_time: evaluatedAfter, exp_samples: [] },
      ],
    };
    writeFileSync(path, JSON.stringify({ rule_files: [rules], evaluation_interval: '15s', tests: [test] }));
    // Not `spawnSync`: the services under test may run in this process.
    const running = spawn(promtool, ['test', 'rules', path], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    running.stderr.setEncoding('utf8').on('data', (chunk: string) => void (stderr += chunk));
    const [code]: readonly unknown[] = await once(running, 'close');
    if (code === 0) return [];
    const fired = [...stderr.matchAll(/\{__name__="ALERTS"([^}]*)\}/g)].map(([, labels = '']) => {
      const about = ['alertname', 'role', 'reader', 'part', 'instance'];
      return about.flatMap((label) => new RegExp(`\\b${label}="([^"]*)"`).exec(labels)?.[1] ?? []).join(' ');
    });
    if (fired.length === 0) throw new Error(stderr);
    return [...new Set(fired)];
  } finally {
    rmSync(directory, { recursive: true });
  }
};

/** What promtool has against the metrics of a process; empty if nothing. */
export const faultsOf = (metrics: string): string => {
  const { stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
  return `${stdout}${stderr}`;
};
