# $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g ruby -o cards -p gemName=cards,moduleName=Cards
# $ gem install typhoeus
# $ ruby -I cards/lib openapi-generator.rb
require 'json'
require 'cards'

Cards.configure { |settings| settings.access_token = ENV.fetch('API_KEY') }
api = Cards::CardsApi.new
address = { line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' }
recipient = Cards::RecipientInput.new(name: 'Ada Lovelace', **address)

begin
  card = Cards::CardInput.new(recipient: recipient, message: 'Thank you, Ada!')
  puts "Sent #{api.send_card(card, idempotency_key: 'order-4711').id}"
rescue Cards::ApiError => e
  error = JSON.parse(e.response_body)['error']
  case e.code
  when 402 then puts 'Add credits, and send it again with the same key'
  when 422 then puts "Correct the card: #{error['message']}"
  else raise
  end
end

count = 0
cursor = ''
until cursor.nil?
  page = api.list_cards(starting_after: cursor)
  count += page.data.size
  cursor = page.next_cursor
end
puts "#{count} cards"
