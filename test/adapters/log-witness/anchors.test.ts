import { spawnSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { anchorsIn } from '../../../adapters/log-witness/anchors.js';
import { headsOfAnchors } from '../../../adapters/log-witness/anchors.js';
import type { Checkpoint } from '../../../application/ports/log-tiles.js';
import { messageOf } from '../../../domain/errors.js';
import { emptyFrontier, rootOf } from '../../../domain/merkle.js';
import { checkpointText, signerFrom, signNote } from '../../../domain/signed-note.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { inNewDirectory } from '../sqlite/setup.js';

const log = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 1));
const other = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 2));
const head = { size: 0, root: rootOf(emptyFrontier) };
const checkpoint: Checkpoint = {
  ...head,
  note: signNote(checkpointText({ origin: log.name, ...head }), [log]),
  at: standingClock(0).instant(),
};
const hour = '2026-03-02T15';

/** Writes an anchor in a process that ends when it is to write the first byte of a file. */
const dieWriting = (folder: string): void => {
  const module = new URL('../../../adapters/log-witness/anchors.js', import.meta.url);
  const script = `import { anchorsIn } from ${JSON.stringify(module.href)};
    await anchorsIn(${JSON.stringify(folder)}, [], () => undefined)(${JSON.stringify({ note: checkpoint.note })}, '${hour}');`;
  const { status } = spawnSync(
    'sh',
    ['-c', 'ulimit -f 0; exec "$0" --input-type=module -e "$1"', process.execPath, script],
    { stdio: 'ignore' },
  );
  expect(status).not.to.equal(0);
};

describe('the anchor of an hour', () => {
  it('is kept by the next try after one that could not write it, or died', () =>
    inNewDirectory(async (folder) => {
      dieWriting(folder);
      expect(await readdir(folder)).not.to.include(`${hour}.checkpoint`);
      const reports: string[] = [];
      const anchor = anchorsIn(folder, [log], (error) => reports.push(String(error)));
      for (let time = 0; time < 2; time += 1) await anchor(checkpoint, hour);
      expect(reports).to.deep.equal([]);
      const heads = await headsOfAnchors(folder, [log], (error) => expect.fail(String(error)));
      expect(heads.map(({ size }) => size)).to.deep.equal([0]);
    }));

  it('is compared with the log whatever else lies beside it', () =>
    inNewDirectory(async (folder) => {
      await mkdir(join(folder, '2026-03-02T14.checkpoint'));
      await anchorsIn(folder, [log], (error) => expect.fail(String(error)))(checkpoint, hour);
      const reports: string[] = [];
      const report = (error: unknown) => void reports.push(messageOf(error));
      expect((await headsOfAnchors(folder, [log], report)).map(({ size }) => size)).to.deep.equal([0]);
      expect(await headsOfAnchors(join(folder, 'none'), [log], report)).to.deep.equal([]);
      expect(reports.map((text) => text.replace(/: E.*/, ''))).to.deep.equal([
        `LOG_ANCHOR_DIR: ${join(folder, '2026-03-02T14.checkpoint')} can't be read`,
        `LOG_ANCHOR_DIR: ${join(folder, 'none')} can't be read`,
      ]);
    }));

  it('is not taken for kept where its name is that of another file, which stays as it is', () =>
    inNewDirectory(async (folder) => {
      const foreign = signNote(checkpointText({ origin: log.name, ...head }), [other]);
      for (const [at, text] of ['', foreign].entries()) {
        await writeFile(join(folder, `2026-03-02T1${at}.checkpoint`), text);
        const reports: string[] = [];
        const anchor = anchorsIn(folder, [log], (error) => reports.push(String(error)));
        await anchor(checkpoint, `2026-03-02T1${at}`);
        expect(reports.join()).to.include(`2026-03-02T1${at}.checkpoint is no checkpoint of this log`);
      }
      expect(await readdir(folder)).to.have.members(['2026-03-02T10.checkpoint', '2026-03-02T11.checkpoint']);
    }));
});
