import { expect } from 'chai';
import { partAfter } from '../../../adapters/http/console/paging.js';

describe('a part of a list', () => {
  const after = (all: readonly string[], before: string) => partAfter(all, (row) => row === before, 2);

  it('follows the row that the address names, and names the last one if more follow', () => {
    expect(after(['a', 'b', 'c', 'd', 'e'], 'b')).to.deep.equal({ shown: ['c', 'd'], last: 'd' });
    expect(after(['a', 'b', 'c'], 'b')).to.deep.equal({ shown: ['c'], last: undefined });
  });

  it('is the first one if that row, or all after it, is gone', () => {
    expect(after(['a', 'b', 'd'], 'c')).to.deep.equal({ shown: ['a', 'b'], last: 'b' });
    expect(after(['a', 'b'], 'b')).to.deep.equal({ shown: ['a', 'b'], last: undefined });
    expect(after([], 'b')).to.deep.equal({ shown: [], last: undefined });
  });
});
