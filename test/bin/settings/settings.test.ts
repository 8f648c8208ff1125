import { expect } from 'chai';
import { misspelt, readSettings, settingNames } from '../../../bin/settings/settings.js';

describe('settings', () => {
  it('take the addresses of servers as their drivers do', () => {
    const addresses = [
      ['MONGODB_URL', 'mongodb://user:p%40ss@a.example:27017,b_2:27018/cards?replicaSet=rs0'],
      ['MONGODB_URL', 'mongodb://%2Ftmp%2Fmongodb-27017.sock'],
      ['EVENTSTORE_URL', 'esdb+discover://admin:changeit@cluster.example:2113?tls=true'],
      ['EVENTSTORE_URL', 'kurrentdb://[::1]:2113'],
      ['RABBITMQ_URL', 'amqps://guest:guest@rabbit/cards'],
    ] as const;
    for (const [name, value] of addresses) {
      const others = {
        EVENTSTORE_URL: 'esdb://x',
        MONGODB_URL: 'mongodb://x',
        RABBITMQ_URL: 'amqp://x',
      };
      expect(Object.values(readSettings({ ...others, [name]: value }).servers ?? {})).to.include(value);
    }
  });

  it('are repeated in the refusal, but for users and passwords', () => {
    const wrong = {
      EVENTSTORE_URL: 'http://eventstore:2113',
      MONGODB_URL: 'mongodb://user:p%40ss@mongo:x',
      RABBITMQ_URL: 'amqp://guest:se@cret@rabbit:badport/?x=1',
      BASE_URL: 'cards.example.com',
      TIME_ZONE: 'Mars/Base',
    };
    expect(() => readSettings(wrong))
      .to.throw()
      .with.property('message')
      .that.equals(
        [
          'EVENTSTORE_URL must be a URL such as esdb://host:port or esdb+discover://host:port or kurrentdb://host:port or kurrentdb+discover://host:port, not "http://eventstore:2113"',
          'MONGODB_URL must be a URL such as mongodb://host:port or mongodb+srv://host:port, not "mongodb://…@mongo:x"',
          'RABBITMQ_URL must be a URL such as amqp://host:port or amqps://host:port, not "amqp://…@rabbit:badport/?x=1"',
          'BASE_URL must be a URL that begins with http:// or https:// and has no query, fragment or user, not "cards.example.com"',
          'TIME_ZONE must be the name of a time zone such as America/New_York, not "Mars/Base"',
        ].join('\n'),
      );
  });

  it('are whole milliseconds, of which there is at least one', () => {
    const { webhooks } = readSettings({ WEBHOOK_BACKOFF: '1m,333.33ms', WEBHOOK_TIMEOUT: '0.0015s' });
    expect([webhooks.backoff, webhooks.timeout]).to.deep.equal([[60_000, 333], 2]);
    for (const name of ['WEBHOOK_BACKOFF', 'WEBHOOK_TIMEOUT', 'DRAIN'])
      for (const odd of ['0.4ms', '999999999d', `${'9'.repeat(400)}s`])
        expect(() => readSettings({ [name]: odd })).to.throw(`${name} must be`);
  });

  it('are told from variables that nearly have their names', () => {
    expect(misspelt({ MAX_CONNECTION: '5', PATH: '/bin', DATADIR: 'x' })).to.deep.equal([
      'there is no setting MAX_CONNECTION: MAX_CONNECTIONS was probably meant',
      'there is no setting DATADIR: DATA_DIR was probably meant',
    ]);
    const near = ['Port', 'HOSTS', 'demo', 'POST', 'COST', 'HOSTNAME', 'SORT', 'S'];
    expect(misspelt(Object.fromEntries(near.map((name) => [name, '1'])))).to.deep.equal([
      'there is no setting Port: PORT was probably meant',
      'there is no setting HOSTS: HOST was probably meant',
      'there is no setting demo: DEMO was probably meant',
    ]);
    const servers = { EVENTSTORE_URL: 'esdb://x', MONGO_URL: 'mongodb://x', rabbitmq_url: 'amqp://x' };
    expect(() => readSettings(servers))
      .to.throw('MONGODB_URL and RABBITMQ_URL must be set, too')
      .with.property('problems')
      .that.includes('there is no setting MONGO_URL: MONGODB_URL was probably meant')
      .and.includes('there is no setting rabbitmq_url: RABBITMQ_URL was probably meant');
    expect(misspelt(Object.fromEntries(settingNames.map((name) => [name, ''])))).to.deep.equal([]);
  });
});
