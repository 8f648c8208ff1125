import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;
import java.util.stream.StreamSupport;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * Speaks MongoDB's protocol from memory, for tests: `java Server.java [port]` prints the URL and serves until
 * it is killed.
 */
class Server {
  private static final MVStore STORE = MVStore.open(null);

  /** The oldest version that the driver accepts. The newest that the library knows is older. */
  private static final MongoVersion VERSION = new MongoVersion() {
    public List<Integer> getVersionArray() {
      return List.of(5, 0, 0);
    }

    public int getWireVersion() {
      return 13;
    }
  };

  /**
   * Looks documents up by their id even if the filter names other fields too, as MongoDB does. By itself the
   * library would read every document of the collection.
   */
  private static final class Collection extends H2Collection {
    Collection(
        MongoDatabase database,
        String name,
        CollectionOptions options,
        MVMap<Object, Document> data,
        MVMap<String, Object> meta,
        CursorRegistry cursors) {
      super(database, name, options, data, meta, cursors);
    }

    protected QueryResult queryDocuments(
        Document query, Document order, int skip, int limit, int batch, Document projection) {
      if (query.size() > 1 && query.containsKey("_id")) {
        var asked = query.get("_id");
        var isOperator = asked instanceof Document operators && operators.size() == 1;
        var id = new Document("_id", isOperator ? ((Document) asked).getOrDefault("$eq", asked) : asked);
        for (Index<Object> index : getIndexes()) {
          if (!index.getKeys().get(0).getKey().equals("_id") || !index.canHandle(id)) continue;
          var positions = StreamSupport.stream(index.getPositions(id).spliterator(), false);
          var found = positions.map(this::getDocument);
          return matchDocumentsFromStream(found, query, order, skip, limit, batch, projection);
        }
      }
      return super.queryDocuments(query, order, skip, limit, batch, projection);
    }
  }

  private static final class Database extends H2Database {
    Database(String name, CursorRegistry cursors) {
      super(name, STORE, cursors);
    }

    protected MongoCollection<Object> openOrCreateCollection(String name, CollectionOptions options) {
      var fullName = getDatabaseName() + "." + name;
      MVMap<Object, Document> data = STORE.openMap("databases." + fullName);
      MVMap<String, Object> meta = STORE.openMap("meta." + fullName);
      return new Collection(this, name, options, data, meta, cursorRegistry);
    }
  }

  private static final class Backend extends H2Backend {
    Backend() {
      super(STORE);
    }

    protected MongoDatabase openOrCreateDatabase(String name) {
      return new Database(name, getCursorRegistry());
    }
  }

  public static void main(String[] arguments) {
    var backend = new Backend();
    backend.version(VERSION);
    var server = new MongoServer(backend);
    server.bind("127.0.0.1", arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
  }
}
