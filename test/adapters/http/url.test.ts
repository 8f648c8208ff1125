import { expect } from 'chai';
import { pageUrl } from '../../../adapters/http/web/paths.js';

describe('the address of a page', () => {
  it('holds what it is given, encoded, and is not made without a part of its path', () => {
    const address = pageUrl('/below', '/console/:org/hooks', { org: 'a/b' }, { q: 'x y' });
    expect(address).to.equal('/below/console/a%2Fb/hooks?q=x+y');
    expect(() => pageUrl('', '/console/:org/hooks', {})).to.throw('/console/:org/hooks lacks org');
  });
});
