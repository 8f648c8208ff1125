import { expect } from 'chai';
import { findLink, issueLink, takeLink } from '../../../application/access/sign-in-links.js';
import { hashOf, root } from '../../../application/access/sessions.js';
import { SignInUnavailable } from '../../../application/ports/records.js';
import { makePeople } from '../../support/fixtures/people.js';

const minute = 60_000;
const hour = 60 * minute;
const ada = 'the account of Ada';

describe('a session', () => {
  it('is known by its token, of which only the hash is kept', async () => {
    const { sessions, signInRecords, clock } = await makePeople();
    const token = await sessions.open(ada, 'Firefox on Linux');
    expect(token).to.match(/^[\w-]{43}$/);
    expect(await sessions.use(token)).to.deep.equal({
      id: hashOf(token),
      owner: ada,
      created: clock.instant(),
      seen: clock.instant(),
      browser: 'Firefox on Linux',
      epoch: null,
    });
    expect(JSON.stringify(await signInRecords.listOf('session', ada))).not.to.include(token);
    expect(await sessions.use(`${token}x`)).to.equal(null);
  });

  it('ends after 12 hours without use, and 14 days after it began whatever happens', async () => {
    const { sessions, clock } = await makePeople();
    const [used, unused] = [await sessions.open(ada, ''), await sessions.open(ada, '')];
    for (let hours = 0; hours < 14 * 24 - 11; hours += 11) {
      await clock.advance(11 * hour);
      expect((await sessions.use(used))?.owner, `after ${hours + 11} hours`).to.equal(ada);
    }
    expect(await sessions.use(unused)).to.equal(null);
    await clock.advance(11 * hour);
    expect(await sessions.use(used)).to.equal(null);
  });

  it('is not in use by a page that asks for itself again and again', async () => {
    const { sessions, clock } = await makePeople();
    const [left, visited] = [await sessions.open(ada, ''), await sessions.open(ada, '')];
    for (let hours = 0; hours < 12; hours += 1) {
      for (const token of [left, visited])
        expect((await sessions.use(token, { touch: false }))?.owner, `after ${hours} hours`).to.equal(ada);
      expect((await sessions.use(visited))?.seen, `after ${hours} hours`).to.equal(clock.instant());
      await clock.advance(hour);
    }
    expect(await sessions.use(left, { touch: false })).to.equal(null);
    expect((await sessions.use(visited))?.owner).to.equal(ada);
  });

  it('ends for its owner’s fifty-first, if it was not used for longest', async () => {
    const { sessions, clock } = await makePeople();
    const [unused, used] = [await sessions.open(ada, ''), await sessions.open(ada, '')];
    await clock.advance(2 * minute);
    await sessions.use(used);
    for (let more = 0; more < 49; more += 1) await sessions.open(ada, '');
    expect(await sessions.use(unused)).to.equal(null);
    expect((await sessions.use(used))?.owner).to.equal(ada);
    expect(await sessions.listOf(ada)).to.have.length(50);
  });

  it('of the operator ends 8 hours after it began', async () => {
    const { sessions, clock } = await makePeople();
    const token = await sessions.open(root, '');
    await clock.advance(7 * hour);
    expect((await sessions.use(token))?.owner).to.equal(root);
    await clock.advance(hour);
    expect(await sessions.use(token)).to.equal(null);
  });

  it('is over at once where it is ended, and within 5 s in other processes', async () => {
    const { sessions, elsewhere, clock } = await makePeople();
    const token = await sessions.open(ada, '');
    for (const process of [sessions, elsewhere]) expect(await process.use(token)).not.to.equal(null);
    await sessions.end(hashOf(token));
    expect(await sessions.use(token)).to.equal(null);
    await clock.advance(5_000);
    expect(await elsewhere.use(token)).to.equal(null);
  });

  it('is trusted for as long as since its read began, wherever its process stood still meanwhile', async () => {
    const { sessions, elsewhere, signInRecords, clock } = await makePeople();
    const token = await sessions.open(root, '');
    const find = signInRecords.find.bind(signInRecords);
    signInRecords.find = async (kind, id) => {
      const found = await find(kind, id);
      signInRecords.find = find;
      await elsewhere.end(id);
      clock.skip(3_600_000);
      return found;
    };
    await sessions.use(token, { touch: false });
    expect(await sessions.use(token, { touch: false })).to.equal(null);
  });

  it('is over at once where it is ended, even if it is being read meanwhile', async () => {
    const { sessions, signInRecords } = await makePeople();
    const find = signInRecords.find.bind(signInRecords);
    const remove = signInRecords.remove.bind(signInRecords);
    const token = await sessions.open(root, '');
    signInRecords.find = async (kind, id) => {
      const found = await find(kind, id);
      await sessions.endAll(root, null, null);
      return found;
    };
    await sessions.use(token);
    signInRecords.find = find;
    expect(await sessions.use(token), 'read before it was removed').to.equal(null);
    const other = await sessions.open(root, '');
    signInRecords.remove = async (kind, id) => {
      await sessions.use(other);
      return remove(kind, id);
    };
    await sessions.end(hashOf(other));
    expect(await sessions.use(other), 'read before it was over').to.equal(null);
  });

  it('ends with all others of its owner but the one that asks', async () => {
    const { sessions, elsewhere, clock } = await makePeople();
    const tokens = [
      await sessions.open(ada, 'a'),
      await sessions.open(ada, 'b'),
      await sessions.open('bo', 'c'),
    ];
    const [mine = '', other = '', bos = ''] = tokens;
    for (const token of tokens) await elsewhere.use(token);
    await sessions.endAll(ada, await sessions.use(mine), null);
    await clock.advance(5_000);
    const left = await Promise.all(tokens.map((token) => elsewhere.use(token)));
    expect(left.map((session) => session?.id ?? null)).to.deep.equal([hashOf(mine), null, hashOf(bos)]);
    expect(await sessions.use(other)).to.equal(null);
  });

  it('is listed with when it was used last, the newest first', async () => {
    const { sessions, clock } = await makePeople();
    const first = await sessions.open(ada, 'first');
    await sessions.open(ada, 'second');
    await clock.advance(2 * minute);
    await sessions.use(first);
    const listed = await sessions.listOf(ada);
    expect(listed.map(({ browser, seen }) => [browser, seen])).to.deep.equal([
      ['first', clock.instant()],
      ['second', listed[1]?.created],
    ]);
  });

  it('goes on while a full disk keeps no note that it was used', async () => {
    const { sessions, signInRecords, clock } = await makePeople();
    const token = await sessions.open(ada, '');
    await clock.advance(2 * minute);
    signInRecords.change = () => Promise.reject(new SignInUnavailable('database or disk is full'));
    expect((await sessions.use(token))?.owner).to.equal(ada);
  });

  it("is neither believed nor denied while the records can't be reached", async () => {
    const { sessions, signInRecords } = await makePeople();
    const token = await sessions.open(ada, '');
    signInRecords.away = true;
    const refusal = await sessions.use(token).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(SignInUnavailable);
  });
});

describe('a link to sign in', () => {
  it('works once, however many try, and looking at it leaves it', async () => {
    const people = await makePeople();
    const { token, ends } = await issueLink(people, 'enter', root);
    for (let look = 0; look < 2; look += 1)
      expect(await findLink(people, token)).to.deep.equal({
        purpose: 'enter',
        owner: root,
        maker: null,
        ends,
      });
    const taken = await Promise.all([1, 2, 3].map(() => takeLink(people, token)));
    expect(taken.filter((link) => link !== null)).to.have.length(1);
    expect([await findLink(people, token), await takeLink(people, token)]).to.deep.equal([null, null]);
  });

  it('is over after 15 minutes, one for a new password after 24 hours', async () => {
    const people = await makePeople();
    const [enter, reset] = [await issueLink(people, 'enter', root), await issueLink(people, 'reset', ada)];
    await people.clock.advance(15 * minute);
    expect(await takeLink(people, enter.token)).to.equal(null);
    await people.clock.advance(23 * hour);
    expect((await takeLink(people, reset.token))?.owner).to.equal(ada);
  });
});
