<?php
// $ php verify.php < body.json

function isOurs(string $body, string $header, string $secret): bool
{
    $parts = explode(',', $header);
    $sentAt = preg_replace('/^t=/', '', $parts[0]);
    if (!ctype_digit($sentAt) || abs(time() - (int) $sentAt) > 300) {
        return false;
    }
    $wanted = 'v1=' . hash_hmac('sha256', "$sentAt.$body", $secret);
    return array_filter($parts, fn ($part) => hash_equals($wanted, $part)) !== [];
}

echo isOurs(file_get_contents('php://stdin'), getenv('SIGNATURE'), getenv('SECRET')) ? "true\n" : "false\n";
