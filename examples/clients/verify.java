// $ java verify.java < body.json
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Verify {
  static boolean isOurs(byte[] body, String header, String secret) throws Exception {
    var parts = header.split(",");
    var sentAt = parts[0].replaceFirst("^t=", "");
    if (!sentAt.matches("\\d{1,12}")) return false;
    if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(sentAt)) > 300) return false;
    var mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(), "HmacSHA256"));
    mac.update((sentAt + ".").getBytes());
    var wanted = ("v1=" + HexFormat.of().formatHex(mac.doFinal(body))).getBytes();
    return Arrays.stream(parts).anyMatch(part -> MessageDigest.isEqual(part.getBytes(), wanted));
  }

  public static void main(String[] args) throws Exception {
    var body = System.in.readAllBytes();
    System.out.println(isOurs(body, System.getenv("SIGNATURE"), System.getenv("SECRET")));
  }
}
