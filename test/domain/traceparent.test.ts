import { expect } from 'chai';
import {
  begunPlace,
  isBegunHere,
  parseTraceparent,
  traceIdOf,
  traceparentOf,
} from '../../domain/traceparent.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent', () => {
  it('is read and written in version 00, with the flags that the standard knows', () => {
    const sent = `00-${traceId}-${spanId}-01`;
    expect(parseTraceparent(sent)).to.deep.equal({ traceId, spanId, flags: 1 });
    expect(traceparentOf({ traceId, spanId, flags: 1 })).to.equal(sent);
    expect(traceIdOf(sent)).to.equal(traceId);
    expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)).to.include({ flags: 3 });
  });

  it('of a later version is read as far as it is known', () => {
    expect(parseTraceparent(`cc-${traceId}-${spanId}-00-what-will-be`)).to.deep.equal({
      traceId,
      spanId,
      flags: 0,
    });
  });

  it('that began here is told from one that was sent, sampled or not', () => {
    const begun = begunPlace('0000019a00000000', spanId);
    expect(parseTraceparent(begun)).to.include({ spanId, flags: 0 });
    const others = [0, 1].map((flags) => traceparentOf({ traceId, spanId, flags }));
    expect([begun, ...others].map(isBegunHere)).to.deep.equal([true, false, false]);
  });

  const malformed = {
    nothing: '',
    'no traceparent': 'nonsense',
    'capital letters': `00-${traceId.toUpperCase()}-${spanId}-01`,
    'a trace of zeros': `00-${'0'.repeat(32)}-${spanId}-01`,
    'a span of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
    'the version ff': `ff-${traceId}-${spanId}-01`,
    'more after version 00': `00-${traceId}-${spanId}-01-more`,
    'something after the flags': `cc-${traceId}-${spanId}-01more`,
    'no flags': `00-${traceId}-${spanId}`,
    'two of them': `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  };
  for (const [title, text] of Object.entries(malformed))
    it(`is as good as none if it is ${title}`, () => {
      expect(parseTraceparent(text)).to.equal(null);
    });
});
