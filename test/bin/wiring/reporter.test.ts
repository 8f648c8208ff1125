import { expect } from 'chai';
import { pino } from 'pino';
import { ReadModelNotBuilt, ReadModelsUnavailable } from '../../../application/ports/read-models.js';
import { reporter } from '../../../bin/wiring/reporter.js';
import { FinalError } from '../../../domain/errors.js';
import { cards } from '../../../projections/cards.js';

/** What is logged of an error, and what the process fails with. */
const reported = (error: unknown) => {
  const lines: string[] = [];
  const failures: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  reporter({ log, fail: (failure) => void failures.push(failure) }, 'due cards')(error);
  const logged = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  return { logged: logged.map(({ level, process, msg }) => ({ level, process, msg })), failures };
};

describe('the report of a process that is tried again', () => {
  it('says that a read model is not built yet, which is no failure', () => {
    const msg = "process waits: cards is being built: it can't be read yet";
    expect(reported(new ReadModelNotBuilt(cards))).to.deep.equal({
      logged: [{ level: 30, process: 'due cards', msg }],
      failures: [],
    });
  });

  it('is an error for every failure, and ends the process after one that no other try can mend', () => {
    const logged = [{ level: 50, process: 'due cards', msg: 'process failed, trying again' }];
    expect(reported(new ReadModelsUnavailable('away'))).to.deep.equal({ logged, failures: [] });
    const final = new FinalError('another log');
    expect(reported(final)).to.deep.equal({ logged, failures: [final] });
  });
});
