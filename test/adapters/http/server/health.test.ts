import { expect } from 'chai';
import { call, startHttp } from '../../../support/http/http.js';

describe('health', () => {
  it('is answered with the version of the service', async () => {
    const service = await startHttp([]);
    try {
      const { status, body } = await call(service, { path: '/healthz' });
      expect([status, body]).to.deep.equal([200, { status: 'ok', version: '1.2.3' }]);
    } finally {
      await service.close();
    }
  });
});
