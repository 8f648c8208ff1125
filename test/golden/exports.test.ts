import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';

const folder = new URL('../../../test/golden/exports/', import.meta.url);
const fileOf = (name: string): Buffer => readFileSync(new URL(name, folder));
const { log, witness } = z
  .object({ log: z.string(), witness: z.string() })
  .parse(JSON.parse(fileOf('keys.json').toString()));

/**
 * Exports as versions of the service have made them, `{what}.{kind}.jsonl`, and beside them a checkpoint of
 * the same log when it was shorter, `{what}.older`. In `erased` one card is erased, and the
 * period is that of one organization. The log of `another-log.older` has the same name and key, and other
 * events. They are never edited.
 */
const [logs, kinds] = [
  ['sealed', 'erased'],
  ['card', 'organization', 'period'],
] as const;

describe('the golden exports', () => {
  it('are of every kind', () => {
    const wanted = logs.flatMap((name) => [`${name}.older`, ...kinds.map((kind) => `${name}.${kind}.jsonl`)]);
    expect(readdirSync(folder).sort()).to.deep.equal([...wanted, 'another-log.older', 'keys.json'].sort());
  });

  for (const name of logs)
    for (const kind of kinds)
      it(`are verified forever: ${name}, ${kind}`, () => {
        const file = fileOf(`${name}.${kind}.jsonl`);
        const asked = { keys: [log], witnesses: [witness], anchor: fileOf(`${name}.older`).toString() };
        const { report, verified } = verifyExport(file, asked);
        expect([verified, report.filter((line) => line.startsWith('FAIL'))]).to.deep.equal([true, []]);
        const personal =
          kind === 'organization' ? /: 0 shown, [1-9]\d* withheld/ : /: [1-9]\d* shown, 0 withheld/;
        expect(report.find((line) => line.includes('personal data'))).to.match(personal);
        expect(verifyExport(file, { keys: [log] }).verified).to.equal(true);
        const changed = Buffer.from(file.toString().replace('Card', 'Bard'));
        expect(verifyExport(changed, { keys: [log] }).verified).to.equal(false);
      });
});
