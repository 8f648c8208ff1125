import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { exitCodes as exitCodesOfCommandLine } from '../bin/cli/client.js';
import { allVerbs } from '../bin/cli/program.js';
import { exitCodes } from '../bin/wiring/exit.js';
import { roles } from '../bin/wiring/roles.js';
import { settingNames } from '../bin/settings/settings.js';
import { parse } from 'yaml';
import { startTestService } from './support/http/service.js';
import { describeWithPromtool, promtool } from './support/servers/promtool.js';
import { read, root } from './support/runner/repository.js';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** The rows of the tables below a heading, up to the next heading: the text of each cell. */
const rowsBelow = (heading: string): readonly (readonly string[])[] => {
  const [, section = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const lines = section.split(/^#+ /m)[0]?.split('\n') ?? [];
  const rows = lines
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
  return rows
    .map((cells) => cells.slice(1, -1))
    .filter(([first = '']) => first !== '' && !/^-+$/.test(first));
};

/** The names that the first cells of these rows show as code. */
const namesBelow = (heading: string): readonly string[] =>
  rowsBelow(heading).flatMap(([first = '']) =>
    [...first.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  );

/** The functions and words of PromQL that the queries use. */
const promql: ReadonlySet<string> = new Set([
  'absent',
  'and',
  'count',
  'delta',
  'histogram_quantile',
  'increase',
  'label_replace',
  'max',
  'min',
  'or',
  'rate',
  'sum',
  'time',
  'unless',
]);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
interface Alerts {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}
interface AlertCases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

const alertCases = 'docs/operations/alerts.test.yml';

describeWithPromtool('the alerts in docs/operations', () => {
  it('fire as their cases say', () => {
    const { status, stderr } = spawnSync(promtool, ['test', 'rules', alertCases], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status, stderr).to.equal(0);
  });
});

describe('docs/operations.md', () => {
  it('has every setting, and no other, in its table of settings', () => {
    expect(namesBelow('Settings').toSorted()).to.deep.equal([...settingNames].toSorted());
  });

  it('has every role, and no other, in its table of roles', () => {
    expect(namesBelow('Roles').toSorted()).to.deep.equal([...roles].toSorted());
  });

  it('has every metric, and no other, in its table of metrics', async () => {
    const service = await startTestService();
    try {
      const { text } = await service.anonymous('/metrics');
      const measured = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '');
      expect(namesBelow('Metrics').toSorted()).to.deep.equal(measured.toSorted());
    } finally {
      await service.stop();
    }
  });

  /** What a query names that is neither a part of the language nor a label. */
  const metricsIn = (query: string): readonly string[] =>
    query
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"|\b(by|without|on|ignoring) *\([^)]*\)/g, ' ')
      .match(/[a-z_][a-z0-9_]*/gi)
      ?.filter((name) => !promql.has(name)) ?? [];

  /** A histogram is asked for by its parts. */
  const withParts = (name: string): readonly string[] => [
    name,
    `${name}_bucket`,
    `${name}_sum`,
    `${name}_count`,
  ];

  const panels = (): readonly Panel[] =>
    (JSON.parse(read('docs/operations/dashboard.json')) as Dashboard).panels;
  const rules = (): readonly Rule[] =>
    (parse(read('docs/operations/alerts.yml')) as Alerts).groups.flatMap((group) => group.rules);

  it('has every metric that the dashboard and the alerts ask for in its table of metrics', () => {
    // What Prometheus itself says of each process.
    const known = new Set([...namesBelow('Metrics').flatMap(withParts), 'up']);
    const queries = [
      ...panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...rules().map(({ expr }) => expr),
    ];
    const asked = queries.map(metricsIn);
    expect(asked.filter((names) => names.length === 0)).to.deep.equal([]);
    expect(asked.flat().filter((name) => !known.has(name))).to.deep.equal([]);
  });

  it('or docs/incidents.md has a section for each alert, and every alert says what is wrong', () => {
    const anchors = ['operations.md', 'incidents.md'].flatMap((name) =>
      [...read(`docs/${name}`).matchAll(/^#+ (.*)$/gm)].map(
        ([, heading = '']) =>
          `${name}#${heading
            .toLowerCase()
            .replaceAll(/[^a-z0-9 -]/g, '')
            .replaceAll(' ', '-')}`,
      ),
    );
    for (const { alert, annotations } of rules()) {
      expect(anchors, alert).to.include(annotations.runbook);
      expect(annotations.summary.length, alert).to.be.greaterThan(20);
    }
  });

  it('says of each alert, and of no other, in its table what it means and what to do', () => {
    expect(rowsBelow('Watch').flatMap(([name = '']) => /^`(.*)`$/.exec(name)?.[1] ?? [])).to.deep.equal(
      rules().map(({ alert }) => alert),
    );
  });

  it('has for each alert a case in which it fires, and one in which it does not', () => {
    const { tests } = parse(read(alertCases)) as AlertCases;
    const cases = tests.flatMap((test) => test.alert_rule_test);
    const fires = (wanted: boolean): readonly string[] => [
      ...new Set(
        cases.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 === wanted ? alertname : [])),
      ),
    ];
    const names = rules().map(({ alert }) => alert);
    expect(fires(true)).to.have.members(names);
    expect(fires(false)).to.have.members(names);
  });

  it('shows every metric of the business, and most others, on the dashboard', () => {
    const shown = new Set(
      panels().flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))),
    );
    const missing = namesBelow('Metrics').filter((name) => !withParts(name).some((part) => shown.has(part)));
    expect(missing).to.deep.equal([
      'projection_position',
      'projection_positions_ahead',
      'projection_events_behind',
    ]);
  });

  it('has every exit code of the service and of the command line, and no other, in its tables', () => {
    const cells = rowsBelow('Exit codes').map(([first]) => first);
    const codes = [exitCodes, exitCodesOfCommandLine].map((each) => Object.values(each).map(String));
    expect(cells).to.deep.equal(codes.flatMap((each) => ['code', ...each]));
  });

  it('keeps what can’t be made again and names no position, where the log is set back or moved', () => {
    const [, restored = ''] = page.split('**EventStoreDB restored to an earlier point.**');
    const [sentence = ''] = restored.split(/; drop\s+every other/);
    expect([...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).to.deep.equal([
      'artwork.files',
      'artwork.chunks',
      'key_uses',
      'rehearsal',
      'requests',
      'sign_in_records',
      'personal_key',
    ]);
    expect(page).to.include('keep `log_checkpoints` and what [a restore](#restore) keeps; drop every other');
  });

  it('has every verb of the command line, and no other, beside its noun', () => {
    const documented = rowsBelow('The command line').flatMap(([noun = '', listed = '']) =>
      [...(listed.split(':')[0] ?? '').matchAll(/`([^`]+)`/g)].map(
        ([, verb]) => `${noun.replaceAll('`', '')} ${verb}`,
      ),
    );
    expect(documented.filter((line) => line !== 'noun undefined').toSorted()).to.deep.equal(
      allVerbs.map(({ noun, verb }) => `${noun} ${verb}`).toSorted(),
    );
  });
});
