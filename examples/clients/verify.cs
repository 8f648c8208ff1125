// $ dotnet new console -o verify
// $ cp verify.cs verify/Program.cs && dotnet run --project verify < body.json
using System;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

class Verify {
  static bool IsOurs(byte[] body, string header, string secret) {
    var parts = header.Split(',');
    if (!parts[0].StartsWith("t=") || !long.TryParse(parts[0].Substring(2), out var sentAt)) return false;
    if (Math.Abs((decimal)DateTimeOffset.UtcNow.ToUnixTimeSeconds() - sentAt) > 300) return false;
    using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret))) {
      var mac = hmac.ComputeHash(Encoding.UTF8.GetBytes(sentAt + ".").Concat(body).ToArray());
      var hex = BitConverter.ToString(mac).Replace("-", "").ToLowerInvariant();
      var wanted = Encoding.UTF8.GetBytes("v1=" + hex);
      return parts.Any(part => CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(part), wanted));
    }
  }

  static void Main() {
    var body = new MemoryStream();
    Console.OpenStandardInput().CopyTo(body);
    var header = Environment.GetEnvironmentVariable("SIGNATURE");
    var secret = Environment.GetEnvironmentVariable("SECRET");
    Console.WriteLine(IsOurs(body.ToArray(), header, secret) ? "true" : "false");
  }
}
