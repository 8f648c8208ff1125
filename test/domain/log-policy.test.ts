import { expect } from 'chai';
import { MalformedPolicy, parsePolicy } from '../../domain/log-policy.js';
import { signerFrom, vkeyOf, type NoteSigner } from '../../domain/signed-note.js';
import { read } from '../support/runner/repository.js';

const log = vkeyOf(signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 90)));
const witnesses = [1, 2, 3, 4].map((n) =>
  signerFrom(`w${n}.example.com`, 'cosignature', Buffer.alloc(32, n)),
);
const lines = witnesses.map((witness, at) => `witness w${at + 1} ${vkeyOf(witness)}`);

const metBy = (policy: string, ...signed: readonly number[]): boolean =>
  parsePolicy(policy).isMet(signed.flatMap((n): NoteSigner[] => witnesses.slice(n - 1, n)));

describe('the policy of a log', () => {
  it('counts witnesses in groups of groups', () => {
    const policy = [
      '# Two of ours, and one of the others.',
      `log ${log}`,
      ...lines,
      'group ours 2 w1 w2 w3',
      'group others any w4',
      '  group all-of-them\tall ours others  ',
      '',
      'quorum all-of-them',
    ].join('\n');
    expect([metBy(policy, 1, 2, 4), metBy(policy, 2, 3, 4), metBy(policy, 1, 2, 3, 4)]).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect([metBy(policy), metBy(policy, 1, 4), metBy(policy, 1, 2, 3)]).to.deep.equal([false, false, false]);
  });

  it('reads the sample in the documentation', () => {
    const [sample = ''] = /(?<=```\n)log [^`]+(?=```)/.exec(read('docs/exports.md')) ?? [];
    const keys = [log, ...witnesses.map(vkeyOf)];
    const filled = sample.replace(/\S+\+[0-9a-f]{8}\+\S+…/g, () => keys.shift() ?? '');
    const policy = parsePolicy(filled);
    expect(policy.witnesses.map(({ url }) => url !== null)).to.deep.equal([true, true, true]);
    expect([metBy(filled, 1), metBy(filled, 1, 3), metBy(filled, 1, 4)]).to.deep.equal([false, true, false]);
  });

  it('may need one witness, or none', () => {
    expect(metBy([...lines, 'quorum w2'].join('\n'), 2)).to.equal(true);
    expect(metBy([...lines, 'quorum w2'].join('\n'), 1)).to.equal(false);
    expect(metBy('quorum none\n')).to.equal(true);
  });

  it('says where its witnesses take checkpoints', () => {
    const { logs, witnesses: found } = parsePolicy(
      `log ${log} https://cards.example.com/log\n${lines[0]} https://w1.example.com/\nquorum none`,
    );
    expect(logs.map(({ name }) => name)).to.deep.equal(['cards.example.com/log']);
    expect(found.map(({ key, url }) => [key.name, url])).to.deep.equal([
      ['w1.example.com', 'https://w1.example.com/'],
    ]);
  });

  it('is refused with the number of the line that is wrong', () => {
    const [one = '', two = ''] = lines;
    for (const [wrong, line] of [
      [`${one}\n${one}\nquorum none`, 2],
      [`${one}\ngroup g 2 w1\nquorum g`, 2],
      [`${one}\ngroup g 0 w1\nquorum g`, 2],
      [`${one}\n${two}\ngroup g any w1 w1\nquorum g`, 3],
      [`${one}\ngroup g any none\nquorum g`, 2],
      ['group g any w1', 1],
      ['quorum w1', 1],
      ['quorum none\nquorum none', 2],
      [`witness w1 ${log}\nquorum none`, 1],
      [`log ${log}\nlog ${log}\nquorum none`, 2],
      ['witness w1 no-key\nquorum none', 1],
      [`${one} not-a-url\nquorum none`, 1],
      ['believe everybody\nquorum none', 1],
    ] as const)
      expect(() => parsePolicy(wrong), wrong).to.throw(MalformedPolicy, `line ${line}: `);
    expect(() => parsePolicy(one)).to.throw(MalformedPolicy, 'quorum');
  });
});
