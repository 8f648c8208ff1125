import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** Speaks MongoDB's protocol from memory, for tests: `java Server.java [port]` prints the URL and serves until it is killed. */
class Server {
  /** The oldest version that the driver accepts. The server's own newest is older. */
  private static final MongoVersion VERSION = new MongoVersion() {
    public List<Integer> getVersionArray() {
      return List.of(5, 0, 0);
    }

    public int getWireVersion() {
      return 13;
    }
  };

  public static void main(String[] arguments) {
    var backend = H2Backend.inMemory();
    backend.version(VERSION);
    var server = new MongoServer(backend);
    server.bind("127.0.0.1", arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
  }
}
