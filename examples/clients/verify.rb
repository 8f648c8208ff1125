# $ ruby verify.rb < body.json
require 'openssl'

def ours?(body, header, secret)
  parts = header.split(',')
  sent_at = parts.first.to_s.delete_prefix('t=')
  return false unless (Time.now.to_i - sent_at.to_i).abs <= 300

  wanted = "v1=#{OpenSSL::HMAC.hexdigest('SHA256', secret, "#{sent_at}.#{body}")}"
  parts.any? { |part| OpenSSL.secure_compare(part, wanted) }
end

puts ours?($stdin.binmode.read, ENV.fetch('SIGNATURE'), ENV.fetch('SECRET'))
