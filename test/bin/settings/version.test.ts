import { expect } from 'chai';
import { nodeWarning } from '../../../bin/settings/version.js';

describe('the warning about Node', () => {
  it('is shown on Node 20, which gets no security fixes, and recommends Node 24', () => {
    for (const version of ['20.19.0', '20.20.2'])
      expect(nodeWarning(version)).to.match(/^Node 20 has had no security fixes .* Node 24 is recommended$/);
  });

  it('is not shown on later versions', () => {
    for (const version of ['22.20.0', '24.11.1', '120.1.0']) expect(nodeWarning(version)).to.equal(null);
  });
});
