<?php
// $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g php -o cards -p invokerPackage=Cards
// $ composer install --no-dev -d cards
// $ php openapi-generator.php

require 'cards/vendor/autoload.php';

$settings = Cards\Configuration::getDefaultConfiguration()->setAccessToken(getenv('API_KEY'));
$api = new Cards\Api\CardsApi(config: $settings);
$address = ['line1' => '12 Analytical Way', 'city' => 'Springfield', 'state' => 'IL', 'zip' => '62701'];
$recipient = new Cards\Model\RecipientInput(['name' => 'Ada Lovelace', ...$address]);

try {
    $card = new Cards\Model\CardInput(['recipient' => $recipient, 'message' => 'Thank you, Ada!']);
    echo 'Sent ' . $api->sendCard($card, 'order-4711')->getId() . "\n";
} catch (Cards\ApiException $refused) {
    $error = json_decode($refused->getResponseBody())->error;
    echo match ($refused->getCode()) {
        402 => "Add credits, and send it again with the same key\n",
        422 => "Correct the card: $error->message\n",
        default => throw $refused,
    };
}

$count = 0;
for ($cursor = ''; $cursor !== null; $cursor = $page->getNextCursor()) {
    $page = $api->listCards(starting_after: $cursor);
    $count += count($page->getData());
}
echo "$count cards\n";
