import { expect } from 'chai';
import { statuses } from '../../adapters/http/errors.js';
import { scopes } from '../../domain/api-key.js';
import { cardStatuses, steps } from '../../domain/card.js';
import { errorCodes } from '../../domain/errors.js';
import { publicEventTypes } from '../../domain/public-events.js';
import { read } from '../support/runner/repository.js';

const contract = read('docs/contract.md');

/** What stands below a heading, up to the next one. */
const section = (heading: string): string => {
  const from = contract.indexOf(`\n${heading}\n`);
  expect(from, heading).to.be.at.least(0);
  const rest = contract.slice(from + heading.length + 2);
  const end = rest.search(/^#{2,} /m);
  return end < 0 ? rest : rest.slice(0, end);
};

/** The rows of a section's tables, cell by cell, without the heads. */
const rowsOf = (heading: string): readonly (readonly string[])[] =>
  section(heading)
    .split('\n')
    .filter((line, at, lines) => line.startsWith('|') && lines[at - 1] !== '')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([first]) => first !== undefined && !/^:?-+:?$/.test(first));

const code = (cell: string | undefined): string => cell?.replaceAll('`', '') ?? '';

describe('docs/contract.md', () => {
  it('lists every error code once, with the status that it has', () => {
    const listed = rowsOf('## Errors').map(
      ([status, name]) => [code(name), Number(status?.replace('¹', ''))] as const,
    );
    expect(listed.map(([name]) => name).toSorted()).to.deep.equal(errorCodes.toSorted());
    expect(Object.fromEntries(listed)).to.deep.equal(statuses);
  });

  it('lists every scope, card status and event type', () => {
    const first = (heading: string) => rowsOf(heading).map(([cell]) => code(cell));
    expect(first('### Scopes')).to.deep.equal([...scopes, 'none']);
    expect(first('### Statuses')).to.deep.equal(cardStatuses);
    expect(first('## Events').toSorted()).to.deep.equal(publicEventTypes.toSorted());
  });

  it('names the production steps in their order', () => {
    const [sentence = ''] = section('### Steps').split('.');
    expect([...sentence.matchAll(/`(\w+)`/g)].map(([, step]) => step)).to.deep.equal(steps);
  });
});
