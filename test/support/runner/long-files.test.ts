import { expect } from 'chai';
import { longFiles } from './long-files.js';
import { files } from './repository.js';

describe('each of the files that take longest', () => {
  it('is there, so that a run that draws some of them leaves out no more than it says', () => {
    const there = new Set(files);
    expect(longFiles.filter((name) => !there.has(`test/${name}.test.ts`))).to.deep.equal([]);
    expect(new Set(longFiles).size).to.equal(longFiles.length);
  });
});
