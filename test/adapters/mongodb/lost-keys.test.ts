import type { PersonalKeys } from '../../../application/ports/personal-keys.js';
import { expect } from 'chai';
import { mongoPersonalKeys } from '../../../adapters/mongodb/records/personal-keys.js';
import { eachKeyLost, examples } from '../../support/fixtures/sealed-examples.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { freshDatabase } from './support.js';

describeWithEngines(['MONGODB_URL'], 'keys of personal data in MongoDB', (url) => {
  it('are lost one by one: each time its event alone becomes unreadable', async () => {
    const made: (() => Promise<void>)[] = [];
    const fresh = (): PersonalKeys => {
      const { database, end } = freshDatabase(url);
      made.push(end);
      return mongoPersonalKeys(database);
    };
    const whole = examples.map(([, data]) => data);
    let keys = 0;
    try {
      for await (const { lost, type, read } of eachKeyLost(fresh)) {
        keys += 1;
        expect(
          read.filter((_, index) => index !== lost),
          type,
        ).to.deep.equal(whole.filter((_, index) => index !== lost));
        expect(JSON.stringify(read[lost]), type).to.not.include('Ada');
      }
    } finally {
      for (const end of made) await end();
    }
    expect(keys).to.equal(5);
  });
});
