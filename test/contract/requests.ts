import { expect } from 'chai';
import type { RequestRecord, RequestRows } from '../../application/ports/requests.js';
import type { Instant, StreamName } from '../../domain/ids.js';

const request = (number: number, more: Partial<RequestRecord> = {}): RequestRecord => ({
  id: `req_${number}`,
  at: new Date(Date.UTC(2026, 2, 1, 12, 0, number)).toISOString() as Instant,
  method: 'POST',
  route: '/api/v1/cards',
  status: 201,
  code: null,
  ms: 1.5,
  actor: { kind: 'key', id: 'a-key' },
  org: 'org-1',
  address: '127.0.0.1',
  idempotencyKey: 'one',
  subjects: [],
  wrote: [{ stream: 'card-HC-7K3M9QX' as StreamName, revision: 0 }],
  ...more,
});

const nothing: Partial<RequestRecord> = {
  status: 401,
  code: 'invalid_key',
  actor: null,
  org: null,
  idempotencyKey: null,
  wrote: [],
};

interface Opened {
  readonly rows: RequestRows;
  readonly close: () => Promise<void>;
}

/** What every RequestRows promises. `open` is called for each test. */
export const requestsContract = (name: string, open: () => Promise<Opened>): void => {
  describe(`the request log contract: ${name}`, () => {
    const using = async (run: (rows: RequestRows) => Promise<void>): Promise<void> => {
      const { rows, close } = await open();
      try {
        await run(rows);
      } finally {
        await close();
      }
    };

    it('finds what was saved, field by field, and nothing else', () =>
      using(async (rows) => {
        await rows.save([request(1), request(2, nothing)]);
        expect(await rows.find('req_1')).to.deep.equal(request(1));
        expect(await rows.find('req_2')).to.deep.equal(request(2, nothing));
        expect(await rows.find('req_3')).to.equal(null);
      }));

    it('finds those that are about a subject, the newest first and page by page, until they are removed', () =>
      using(async (rows) => {
        const [card, org] = [['HC-7K3M9QX'], ['org-1', 'HC-7K3M9QX']];
        await rows.save([1, 2, 3, 4].map((number) => request(number, { subjects: number < 4 ? card : org })));
        await rows.save([request(5), request(6, { subjects: ['HC-0000000'] })]);
        const ids = async (subject: string, after: RequestRecord | null, limit = 10) =>
          (await rows.about(subject, null, after, limit)).map(({ id }) => id);
        expect(await ids('HC-7K3M9QX', null, 2)).to.deep.equal(['req_4', 'req_3']);
        expect(await ids('HC-7K3M9QX', request(3), 2)).to.deep.equal(['req_2', 'req_1']);
        expect(await ids('HC-7K3M9QX', request(1))).to.deep.equal([]);
        expect(await rows.about('org-1', null, null, 10)).to.deep.equal([request(4, { subjects: org })]);
        await rows.removeOld(Date.parse(request(4).at), new AbortController().signal);
        expect(await ids('HC-7K3M9QX', null)).to.deep.equal(['req_4']);
      }));

    it('finds those of one organization alone, whatever others have asked about', () =>
      using(async (rows) => {
        const subjects = ['HC-7K3M9QX'];
        await rows.save([1, 2, 3].map((number) => request(number, { subjects, org: `org-${number % 2}` })));
        const ids = async (after: RequestRecord | null) =>
          (await rows.about('HC-7K3M9QX', 'org-1', after, 1)).map(({ id }) => id);
        expect([await ids(null), await ids(request(3)), await ids(request(1))]).to.deep.equal([
          ['req_3'],
          ['req_1'],
          [],
        ]);
      }));

    it('keeps the record that came first', () =>
      using(async (rows) => {
        await rows.save([request(1)]);
        await rows.save([request(1, nothing), request(2)]);
        expect(await rows.find('req_1')).to.deep.equal(request(1));
        expect(await rows.find('req_2')).to.deep.equal(request(2));
      }));

    it('removes what came before a time, however much it is, and nothing that came later', () =>
      using(async (rows) => {
        const many = Array.from({ length: 450 }, (_, index) => request(index));
        await rows.save(many);
        const end = Date.parse(request(430).at);
        await rows.removeOld(end, new AbortController().signal);
        await rows.removeOld(end, new AbortController().signal);
        expect([await rows.find('req_0'), await rows.find('req_429')]).to.deep.equal([null, null]);
        expect((await rows.find('req_430'))?.id).to.equal('req_430');
        expect((await rows.find('req_449'))?.id).to.equal('req_449');
      }));
  });
};
