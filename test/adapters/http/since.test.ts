import { expect } from 'chai';
import { localTime, readLocalTime } from '../../../adapters/http/console/since.js';

describe('a time in a form', () => {
  const zone = 'America/New_York';
  const read = (text: string, timeZone = zone): string =>
    new Date(readLocalTime(text, timeZone, 'since')).toISOString();

  it('is that of the zone of the service, in winter and in summer', () => {
    expect(read('2026-01-15T12:00')).to.equal('2026-01-15T17:00:00.000Z');
    expect(read('2026-07-15T12:00')).to.equal('2026-07-15T16:00:00.000Z');
    expect(read('2026-07-15T12:00', 'Asia/Kolkata')).to.equal('2026-07-15T06:30:00.000Z');
  });

  it('is the earlier one where the clocks are set back, and near where they are set ahead', () => {
    expect(read('2026-11-01T01:30')).to.equal('2026-11-01T05:30:00.000Z');
    expect(read('2026-03-08T02:30')).to.match(/^2026-03-08T0[67]:30/);
    expect(read('2026-03-08T03:30')).to.equal('2026-03-08T07:30:00.000Z');
  });

  it('is written as it is read', () => {
    for (const at of ['2026-01-15T17:00:00.000Z', '2026-07-15T04:05:00.000Z', '2026-11-01T05:30:00.000Z'])
      expect(read(localTime(Date.parse(at), zone))).to.equal(at);
  });

  it('is refused if it is no day and time', () => {
    for (const text of ['', 'soon', '2026-03-02', '2026-03-02T15:04Z', '2026-13-02T15:04'])
      expect(() => read(text), text).to.throw('Give a day and a time');
  });
});
