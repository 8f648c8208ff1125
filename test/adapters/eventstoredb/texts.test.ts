import { expect } from 'chai';
import fc from 'fast-check';
import { joinTexts, splitText } from '../../../adapters/eventstoredb/events.js';

describe('the text of data with its personal part', () => {
  it('is taken apart wherever the part stands', () => {
    const cases: readonly (readonly [text: string, data: string, personal: string | null])[] = [
      ['{}', '{}', null],
      ['{"a":1}', '{"a":1}', null],
      ['{"personal":null}', '{}', 'null'],
      ['{"personal":{"a":[1,"}"]},"b":2}', '{"b":2}', '{"a":[1,"}"]}'],
      ['{"a":1,"personal":"x","b":2}', '{"a":1,"b":2}', '"x"'],
      ['{"a":{"personal":1},"personal":2}', '{"a":{"personal":1}}', '2'],
      [
        '{"a":"\\"personal\\":1","b":[{"personal":3}]}',
        '{"a":"\\"personal\\":1","b":[{"personal":3}]}',
        null,
      ],
      ['{"a":"\\\\","personal":{"b":"\\\\\\"}"}}', '{"a":"\\\\"}', '{"b":"\\\\\\"}"}'],
    ];
    expect(cases.map(([text]) => splitText(text))).to.deep.equal(
      cases.map(([, data, personal]) => ({ data, personal })),
    );
  });

  it('ends even if it is damaged', () => {
    for (const text of ['', '{', '{"', '{"personal":', '{"a":"\\', '{"a":[{"personal":1'])
      expect(() => splitText(text)).to.not.throw();
  });

  it('is the same text again after it was taken apart, for any JSON', () => {
    const key = fc
      .oneof(fc.constantFrom('a', '"personal":'), fc.string())
      .filter((name) => name !== 'personal');
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue()), fc.option(fc.jsonValue()), (data, personal) => {
        const texts = {
          data: JSON.stringify(data),
          personal: personal === null ? null : JSON.stringify(personal),
        };
        const joined = joinTexts(texts);
        expect(splitText(joined)).to.deep.equal(texts);
        expect(JSON.parse(joined)).to.deep.equal(
          JSON.parse(JSON.stringify(personal === null ? data : { ...data, personal })),
        );
      }),
    );
  });
});
